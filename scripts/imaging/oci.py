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


@dataclasses.dataclass(frozen=True)
class Facts:
    name: str
    version: str
    commit: str
    arch: str
    epoch: int  # seconds since 1970: of the commit

    @property
    def created(self):
        return datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


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
    manifest = blob("manifest.v1+json", encode({"schemaVersion": 2, "mediaType": KIND + "manifest.v1+json", "config": config_blob,
                                                "layers": [layer_blob], "annotations": labels}))
    tag = f"{facts.name}:{facts.version}"
    documents = {
        "oci-layout": encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": encode({"schemaVersion": 2, "mediaType": KIND + "index.v1+json", "manifests": [
            manifest | {"platform": {"architecture": facts.arch, "os": "linux"},
                        "annotations": {"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": facts.version}}]}),
        # What `docker load` before Docker 25 reads of an archive.
        "manifest.json": encode([{"Config": "blobs/sha256/" + config_blob["digest"][7:], "RepoTags": [tag],
                                  "Layers": ["blobs/sha256/" + layer_blob["digest"][7:]]}])}
    content = documents | blobs
    shutil.rmtree(place, ignore_errors=True)
    for path, data in content.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)
    place.with_name(place.name + ".tar").write_bytes(
        archive([("blobs", None, 0o755), ("blobs/sha256", None, 0o755)] + [(p, d, 0o644) for p, d in sorted(content.items())], facts.epoch))
    return manifest["digest"], sum(map(len, blobs.values()))
