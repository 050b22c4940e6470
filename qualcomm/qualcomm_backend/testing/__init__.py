"""What tests of passes are made of."""
