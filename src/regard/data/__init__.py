"""Text to numbers: readers, the tokenizer, memory-mapped shards, batches."""
