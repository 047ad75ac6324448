"""Eight pods on four GPUs, chosen so that three strategies differ: a picture for who has not seen yet why it matters where pods go."""
import json
import pathlib
import tempfile

import draw
import replay

NODES, GPUS, MIB = 2, 2, 24576
MILLI = [500, 200, 500, 200, 500, 300, 800, 1000]
STRATEGIES = ["spread", "tight-fit", "rsp"]


def replayed(binary):
    """Where `fgpu sim` places them; rsp knows what will come (--mix given), because from eight pods nothing can be learned."""
    with tempfile.TemporaryDirectory(prefix="packing-eight-") as name:
        folder = pathlib.Path(name)
        draw.write_table(folder / "nodes.csv", ["name", "cpu_milli", "memory_mib", "gpu", "model", "gpu_mem_mib"],
                         [[f"n{i}", 64000, 262144, GPUS, "NVIDIA-A10", MIB] for i in range(NODES)])
        draw.write_table(folder / "pods.csv", ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"],
                         [[f"p{i}", 1000, 1024, 1, milli] for i, milli in enumerate(MILLI)])
        draw.write_stays([(i, None, i) for i in range(len(MILLI))], folder / "stays.csv")
        replay.sim(binary, folder, STRATEGIES, 0, "given", folder / "placements.csv")
        places = replay.read_placements(folder / "placements.csv")
    return {"nodes": NODES, "gpus": GPUS, "milli": MILLI,
            "placements": {s: [p and [p[0], p[1]] for p in places[s]] for s in STRATEGIES}}


def as_text(eight):
    placements = [f"  {json.dumps(s)}: {json.dumps(p)}" for s, p in eight["placements"].items()]
    head = [f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in eight.items() if k != "placements"]
    return "{\n" + "".join(head) + ' "placements": {\n' + ",\n".join(placements) + "\n }\n}\n"
