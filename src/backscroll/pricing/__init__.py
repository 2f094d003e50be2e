"""What it cost. Pure: prices by day, and what a request costs at them."""
