"""What mathematics promises about the methods, tried on problems that hypothesis makes up."""
