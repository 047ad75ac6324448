# Debian's packages for another use than installing them here; source it after lib.sh. No root is needed.

# debian_apt ARCH: makes `apt` the words of an apt-get that sees the packages and sources of Debian for ARCH, from where this machine
# has its own, and keeps them under $FGPU_CACHE/debian/ARCH: nothing of the machine changes.
debian_apt() {
    local dir=$FGPU_CACHE/debian/$1 sources
    sources=$(apt-get indextargets --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' | sort -u)
    [ -n "$sources" ] || die "apt knows no packages of Debian here; run: apt-get update"
    mkdir -p "$dir/lists/partial" "$dir/archives/partial"
    touch "$dir/status"
    printf '%s\n%s\n' "$sources" "${sources//deb [/deb-src [}" >"$dir/sources.list"
    apt=(apt-get -qq -o APT::Architecture="$1" -o APT::Architectures="$1" -o Dir::Etc::SourceList="$dir/sources.list"
         -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$dir" -o Dir::State::Status="$dir/status" -o Dir::Cache="$dir"
         -o APT::Sandbox::User=root -o Acquire::Languages=none)
}

# debian_unpack ROOT ARCH DEB...: unpacks packages below ROOT, with the database of dpkg as if they were installed; none of their scripts
# is run.
debian_unpack() {
    local root=$1 arch=$2 info=$1/var/lib/dpkg/info deb name
    shift 2
    mkdir -p "$info" "$root/var/lib/dpkg/updates"
    : >"$root/var/lib/dpkg/status"
    echo "$arch" >"$root/var/lib/dpkg/arch"
    for deb in "$@"; do
        dpkg-deb -x "$deb" "$root"
        name=$(dpkg-deb -f "$deb" Package)
        [ "$(dpkg-deb -f "$deb" Multi-Arch)" != same ] || name+=:$arch
        dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's,^\./,/,; s,/$,,; s,^$,/.,' >"$info/$name.list"
        dpkg-deb -f "$deb" | sed '1a Status: install ok installed' >>"$root/var/lib/dpkg/status"
        echo >>"$root/var/lib/dpkg/status"
    done
    echo 1 >"$info/format"
}
