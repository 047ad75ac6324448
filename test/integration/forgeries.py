"""Assignment records that nobody should believe, for a pod that asks for 600 milli or less."""
import json


def record(index=0, milli=600, mem_mib=49152, uuid="", **top):
    return json.dumps({"v": 1, "id": "x", "containers": [{"name": "main", "init": False, "devices": [
        {"uuid": uuid, "index": index, "milli": milli, "memMib": mem_mib}]}], **top})


FORGED = {
    "index 99": record(99),
    "index -1": record(-1),
    "index 2^64": record(2 ** 64),
    "uuid of nobody": record(uuid="GPU-of-nobody"),
    "huge amounts": record(milli=2 ** 63 - 1, mem_mib=2 ** 63 - 1),
    "negative amounts": record(milli=-600, mem_mib=-49152),
    "not json": "{",
    "empty": "",
    "null": "null",
    "other version": record(v=2),
    "key twice": '{"v":1,"v":1}',
    "deep": "[" * 10000,
    "claims nothing": json.dumps({"v": 1, "id": "x", "containers": []}),
    "device twice": record().replace("}]}]}", "}," + record().split('"devices": [')[1]),
    "256 KiB": "x" * (256 * 1024 - 100),
    "256 KiB of json": json.dumps({"v": 1, "id": "x", "containers": [
        {"name": "main", "init": False, "devices": [{"uuid": "", "index": i, "milli": 1, "memMib": 1}]}
        for i in range(2600)]}),
}
