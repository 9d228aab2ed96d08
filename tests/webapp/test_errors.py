"""The sentence of a problem, as the page gets it."""

import json

from unhub.webapp.errors import error_response


def test_a_sentence_of_the_page_holds_no_control_characters():
    said = json.loads(bytes(error_response(400, "there is no item 'a\x1b[2J\u202e\n\u200b'.").body))
    assert said == {"error": r"there is no item 'a\x1b[2J\u202e\n\u200b'."}
