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
