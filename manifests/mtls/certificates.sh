#!/bin/sh
# certificates.sh DIR: makes a separate CA for fgpu and its callers, and the certificates that it signs, in DIR:
#   ca.crt ca.key                  keep ca.key away from the cluster
#   tls.crt tls.key                for fgpu, with the names below
#   scheduler.crt scheduler.key    for kube-scheduler, with the name system:kube-scheduler
# It keeps existing files. To make a new pair, delete the old one. cert-manager can do all of this as well.
set -eu
dir=${1:?usage: certificates.sh DIR}
names=${FGPU_NAMES:-DNS:fgpu.fgpu-system.svc,DNS:localhost,IP:127.0.0.1}
days=${FGPU_DAYS:-365}
umask 077
mkdir -p "$dir"
cd "$dir"

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

issue() { # issue FILE COMMON-NAME EXTENSIONS
    [ ! -e "$1.crt" ] || return 0
    new_key "$1.key"
    openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
    printf 'basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" \
        -days "$days" -sha256 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
    rm "$1.csr" "$1.ext"
}

if [ ! -e ca.crt ]; then
    new_key ca.key
    openssl req -x509 -new -key ca.key -subj "/CN=fgpu callers" -days 3650 -sha256 \
        -addext keyUsage=critical,keyCertSign,cRLSign -out ca.crt
fi
issue tls fgpu "extendedKeyUsage=serverAuth
subjectAltName=$names"
issue scheduler system:kube-scheduler "extendedKeyUsage=clientAuth"
