"""The bill of materials of an image: SPDX 2.3 as JSON. Each package of Debian's with the whole text of its copyright file, and each file
with its package."""
import hashlib
import json
import re
import urllib.parse


def sums(content):
    return [{"algorithm": name.upper(), "checksumValue": hashlib.new(name, content).hexdigest()} for name in ("sha1", "sha256")]


def identifier(kind, name):
    """Another name is another identifier: GMT+1 is not GMT-1."""
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9-]", lambda found: f".{ord(found[0]):x}.", name)


def short_names(copyright):
    """The licences that a copyright file in Debian's format names."""
    if not copyright.startswith("Format:"):
        return []
    return sorted({found.strip() for found in re.findall(r"^License: *(\S.*)$", copyright, re.M)})


def verification(files):
    """Of the files of a package that are in the image: SPDX 2.3, 7.9."""
    sha1 = sorted(hashlib.sha1(f.content).hexdigest() for f in files)
    code = hashlib.sha1("".join(sha1).encode()).hexdigest()
    return {"filesAnalyzed": True, "packageVerificationCode": {"packageVerificationCodeValue": code}}


def package_row(package, arch, files):
    names = short_names(package.copyright)
    kind = "source" if package.by_us else arch
    note = "built from Debian's source package with http and https alone, see decision 0073; " if package.by_us else ""
    return {
        "SPDXID": identifier("Package", package.name), "name": package.name, "versionInfo": package.version,
        "supplier": "NOASSERTION" if package.by_us else "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "sourceInfo": f"{note}source package {package.source}",
        "licenseConcluded": "NOASSERTION", "licenseDeclared": f"LicenseRef-{package.name}",
        "licenseComments": "names in the copyright file: " + "; ".join(names) if names else "the copyright file names none in a fixed form",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator":
                          f"pkg:deb/debian/{package.name}@{urllib.parse.quote(package.version)}?arch={kind}"}]} | verification(files)


def write(path, facts, digest, files):
    packages = sorted({f.package for f in files if f.package}, key=lambda p: p.name)
    title = facts.name.rpartition("/")[2]
    image = identifier("Image", title)
    own = verification([f for f in files if not f.package])
    rows = [{"SPDXID": image, "name": title, "versionInfo": facts.version, "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION",
             "sourceInfo": f"commit {facts.commit}", "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
             "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER",
             "checksums": [{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}]} | own]
    rows += [package_row(p, facts.arch, [f for f in files if f.package == p]) for p in packages]
    bonds = [("SPDXRef-DOCUMENT", "DESCRIBES", image)] + [(image, "CONTAINS", identifier("Package", p.name)) for p in packages]
    bonds += [(identifier("Package", f.package.name) if f.package else image, "CONTAINS", identifier("File", f.path)) for f in files]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{title} {facts.version} {facts.arch}",
        "documentNamespace": f"https://fgpu.io/spdx/{title}-{facts.version}-{facts.arch}-{digest.removeprefix('sha256:')}",
        "creationInfo": {"created": facts.created, "creators": [f"Tool: fgpu-scripts-image-{facts.version}"]},
        "packages": rows,
        "files": [{"SPDXID": identifier("File", f.path), "fileName": "./" + f.path, "checksums": sums(f.content),
                   "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"} for f in files],
        "hasExtractedLicensingInfos": [{"licenseId": f"LicenseRef-{p.name}", "name": f"copyright file of {p.name}",
                                        "extractedText": p.copyright} for p in packages],
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in bonds]}
    path.write_text(json.dumps(document, indent=1) + "\n")
