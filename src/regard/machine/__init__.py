"""Properties and settings of this machine: CPUs, memory, the memory allocator, and support for bfloat16."""
