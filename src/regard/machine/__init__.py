"""What this machine offers: CPUs, memory, the allocator, bfloat16."""
