"""A Milvus server in a network of its own, and a door to it: run by ``stores.engines.milvus`` as a process of its own.

The server listens on every address that it finds. Here it finds only the loopback of an empty network namespace; the
socket that this process was handed belongs to the network outside, where it listens on 127.0.0.1.

    unshare --net python milvus_inside.py <number of the listening socket> <folder>

It ends, and the server with it, when its standard input does.
"""

import asyncio
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

BROUGHT_UP, SET_FLAGS = 0x1 | 0x40, 0x8914
COMPONENTS = ("rootCoord", "proxy", "queryCoord", "queryNode", "indexNode", "dataCoord", "dataNode")
SETTINGS = {
    **{f"{each}.ip": "127.0.0.1" for each in COMPONENTS},
    "queryCoord.distPullInterval": 100,
    "dataCoord.segment.assignmentExpiration": 200,
    "indexCoord.segment.minSegmentNumRowsToEnableIndex": 64,
    "rootCoord.minSegmentSizeToEnableIndex": 64,
    "proxy.timeTickInterval": 50,
    "proxy.grpc.serverMaxSendSize": 8 * 2**20,
    "proxy.grpc.serverMaxRecvSize": 8 * 2**20,
    "log.level": "error",
}
"""shorter waits, smaller messages and smaller indexes than a large cluster wants, so that little data shows much"""
MORE = {
    "checkChannelInterval": 100,
    "checkSegmentInterval": 100,
    "leaderViewUpdateInterval": 0.1,
    "UpdateNextTargetInterval": 1,
}
"""the same of queryCoord, where the file that comes with the server has no line for it"""


def configure(folder):
    """The port that the server will listen on; its files are in the folder."""
    import milvus

    config = milvus.MilvusServerConfig(data_dir=str(folder))
    config.set("authorization_enabled", True)
    for name, value in SETTINGS.items():
        config.set(name, value)
    config.resolve()
    file = folder / "configs" / "milvus.yaml"
    more = "".join(f"  {name}: {value}\n" for name, value in MORE.items())
    file.write_text(file.read_text().replace("queryCoord:\n", f"queryCoord:\n{more}", 1))
    milvus._initialize_data_files(str(folder))
    return config.get("proxy_port")


async def serve(door, folder):
    """Runs the server and passes everything on to it, until standard input ends."""
    with socket.socket() as loopback:
        fcntl.ioctl(loopback, SET_FLAGS, struct.pack("16sh14x", b"lo", BROUGHT_UP))
    port = configure(folder)
    surroundings = {
        "DEPLOY_MODE": "STANDALONE",
        "LD_LIBRARY_PATH": str(folder / "bin"),
        "MILVUS_RUN_DIR": str(folder / "run"),
    }
    with (folder / "server.log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            folder / "bin" / "milvus", "run", "standalone",
            cwd=folder, env={**os.environ, **surroundings}, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip

        async def pass_on(coming, leaving):
            inside = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pump(coming, inside[1]), _pump(inside[0], leaving), return_exceptions=True)

        async with await asyncio.start_server(pass_on, sock=door):
            await asyncio.to_thread(sys.stdin.buffer.read)
        server.kill()
        await server.wait()


async def _pump(source, sink):
    try:
        while some := await source.read(1 << 16):
            sink.write(some)
            await sink.drain()
    finally:
        sink.close()


if __name__ == "__main__":
    asyncio.run(serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])))
