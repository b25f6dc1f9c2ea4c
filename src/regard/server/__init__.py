"""The HTTP server of `regard serve`.

One front process owns sockets, admission, queue, keys and metrics. Engine processes own the loaded models and may die;
they get batches of texts over a socket pair and translate them as `regard translate` does. Importing this package needs
the extra `serve`, except for its configuration.
"""
