"""What four papers print and claim, and pages that show it beside ours: one folder per paper."""
