"""The façades: ``fit``, ``evaluate``, ``normalize``, ``diagnose``, and the values they give back."""
