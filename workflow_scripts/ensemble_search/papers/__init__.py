"""What the four papers print, what contradicts it, and what they claim: one folder per paper."""
