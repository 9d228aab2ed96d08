"""The attack: kills, forgeries, damaged files, threads and bad requests, counted.

``make test`` runs a fixed small sample of it (``test_attack.py``), ``make attack`` the long one (``__main__.py``). Both
run the same functions with another ``Budget``.
"""
