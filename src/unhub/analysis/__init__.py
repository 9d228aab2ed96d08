"""Who takes which places, before and after a correction, as plain data: what the report and the page show."""
