"""How it reads. Pure: values in, text out."""
