"""What lies below results/: where, how it is read, checked and reproduced."""
