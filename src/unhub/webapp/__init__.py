"""The web page that shows hubs, and the small API behind it."""
