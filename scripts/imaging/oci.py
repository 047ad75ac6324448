"""Images as OCI describes them: one layer, written so that equal contents are equal bytes."""
import dataclasses
import datetime
import gzip
import hashlib
import io
import json
import shutil
import tarfile

FOLDERS = ("dev", "proc", "sys", "tmp")  # what a runtime mounts over
KIND = "application/vnd.oci.image."
TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclasses.dataclass(frozen=True)
class Facts:
    name: str
    version: str
    commit: str
    arch: str
    epoch: int  # seconds since 1970: of the commit

    @property
    def created(self):
        return datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime(TIME)


def archive(entries, epoch):
    """A tar of (path, content or None for a folder, mode), in their order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content, mode in entries:
            info = tarfile.TarInfo(path)
            info.mtime, info.mode = epoch, mode
            if content is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def layer_of(files, epoch):
    folders = {path: 0o1777 if path == "tmp" else 0o755 for path in FOLDERS}
    for f in files:
        parts = f.path.split("/")
        folders.update({"/".join(parts[:n]): 0o755 for n in range(1, len(parts))})
    entries = [(path, None, mode) for path, mode in folders.items()] + [(f.path, f.content, f.mode) for f in files]
    return archive(sorted(entries), epoch)


def encode(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def write(place, facts, files):
    """Writes the folder `place` and the archive of it; returns the digest of the manifest and the bytes that a registry stores."""
    blobs = {}

    def blob(media, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": KIND + media, "digest": f"sha256:{digest}", "size": len(content)}

    title = facts.name.rpartition("/")[2]
    labels = {f"org.opencontainers.image.{key}": value for key, value in
              {"title": title, "version": facts.version, "revision": facts.commit, "created": facts.created}.items()}
    layer = layer_of(files, facts.epoch)
    layer_blob = blob("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))
    config_blob = blob("config.v1+json", encode({
        "architecture": facts.arch, "os": "linux", "created": facts.created,
        "config": {"User": "65532:65532", "Env": ["PATH=/usr/bin"], "Entrypoint": [f"/usr/bin/{title}"], "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": facts.created, "created_by": "scripts/image"}]}))
    platform = {"architecture": facts.arch, "os": "linux"}
    manifest = blob("manifest.v1+json", encode({"schemaVersion": 2, "mediaType": KIND + "manifest.v1+json", "config": config_blob,
                                                "layers": [layer_blob], "annotations": labels}))
    tag = f"{facts.name}:{facts.version}"
    documents = layout(manifest | {"platform": platform}, tag) | {
        # What `docker load` before Docker 25 reads of an archive.
        "manifest.json": encode([{"Config": "blobs/sha256/" + config_blob["digest"][7:], "RepoTags": [tag],
                                  "Layers": ["blobs/sha256/" + layer_blob["digest"][7:]]}])}
    store(place, documents | blobs, facts.epoch)
    return manifest["digest"], sum(map(len, blobs.values()))


def layout(top, tag):
    """The documents of a folder whose one image, or index of images, is `top`."""
    named = {"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag.rpartition(":")[2]}
    return {"oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
            "index.json": encode({"schemaVersion": 2, "mediaType": KIND + "index.v1+json", "manifests": [top | {"annotations": named}]})}


def store(place, content, epoch):
    """The folder `place`, and the archive of it."""
    shutil.rmtree(place, ignore_errors=True)
    for path, data in content.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    place.with_name(place.name + ".tar").write_bytes(
        archive([("blobs", None, 0o755), ("blobs/sha256", None, 0o755)] + [(p, d, 0o644) for p, d in sorted(content.items())], epoch))


def join(place, images):
    """Writes `place` as write() does, with an index of these images: the same program for several architectures, each a folder of write().
    Returns the tag, the architectures and the digest of the index."""
    blobs, rows, tags, created = {}, [], set(), set()
    for image in images:
        (row,) = json.loads((image / "index.json").read_text())["manifests"]
        tags.add(row["annotations"]["io.containerd.image.name"])
        rows.append({key: row[key] for key in ("mediaType", "digest", "size", "platform")})
        manifest = json.loads((image / "blobs" / row["digest"].replace(":", "/")).read_text())
        created.add(manifest["annotations"]["org.opencontainers.image.created"])
        blobs.update({str(p.relative_to(image)): p.read_bytes() for p in (image / "blobs" / "sha256").iterdir()})
    if len(tags) != 1 or len(created) != 1:
        raise ValueError(f"{' and '.join(i.name for i in images)} are not of one version and one commit")
    rows.sort(key=lambda row: row["platform"]["architecture"])
    index = encode({"schemaVersion": 2, "mediaType": KIND + "index.v1+json", "manifests": rows})
    digest = hashlib.sha256(index).hexdigest()
    blobs[f"blobs/sha256/{digest}"] = index
    top = {"mediaType": KIND + "index.v1+json", "digest": f"sha256:{digest}", "size": len(index)}
    epoch = int(datetime.datetime.strptime(created.pop(), TIME).replace(tzinfo=datetime.timezone.utc).timestamp())
    (tag,) = tags
    store(place, layout(top, tag) | blobs, epoch)
    return tag, [row["platform"]["architecture"] for row in rows], top["digest"]
