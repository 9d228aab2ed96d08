"""Tables, figures and the one-file HTML report: draws values, runs nothing."""
