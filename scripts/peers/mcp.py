#!/usr/bin/env python3
"""A tool server of the Model Context Protocol on standard input and output, for
../agents: `find` and `erase` say that they were called."""
import json
import os
import sys

TOOLS = [{'name': n, 'description': n + ' something', 'inputSchema': {'type': 'object', 'properties': {'what': {'type': 'string'}}}}
         for n in ('find', 'erase')]


def answer(method, params):
    if method == 'initialize':
        return {'protocolVersion': params.get('protocolVersion', '2025-06-18'), 'capabilities': {'tools': {}},
                'serverInfo': {'name': 'peer', 'version': '1'}}
    if method == 'tools/list':
        return {'tools': TOOLS}
    if method == 'tools/call':
        did = {'find': 'found-by-the-peer', 'erase': 'erased-by-the-peer'}[params['name']]
        return {'content': [{'type': 'text', 'text': did + os.environ.get('PEER_TOKEN', ', without its key')}]}
    return {}


for line in sys.stdin:
    asked = json.loads(line)
    if 'id' in asked and 'method' in asked:
        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': answer(asked['method'], asked.get('params') or {})}), flush=True)
