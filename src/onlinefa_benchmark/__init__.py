"""The benchmark: experiments that compare posterior approximations, and the workflow's commands.

The package imports the library ``onlinefa``; the library never imports the benchmark. It needs the
extra ``benchmark``: ``pip install 'onlinefa[benchmark]'``.
"""
