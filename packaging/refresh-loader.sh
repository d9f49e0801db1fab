#!/bin/sh
# SPDX-License-Identifier: MIT
# After `meson install`: refresh the loader's cache, or print the command with which the loader finds the library.
set -eu
[ -z "${DESTDIR-}" ] || exit 0
case "$1" in
/*) libraries=$1 ;;
*) libraries=$MESON_INSTALL_PREFIX/$1 ;;
esac
PATH=$PATH:/usr/sbin:/sbin
searched=no
for directory in $(ldconfig -v -N -X 2>/dev/null | sed -n 's,^\(/[^:]*\):.*,\1,p'); do
	[ ! "$directory" -ef "$libraries" ] || searched=yes
done
if [ "$searched" = no ]; then
	echo "note: the loader does not search $libraries"
	echo "hint: echo $libraries | sudo tee /etc/ld.so.conf.d/side.conf && sudo ldconfig"
elif [ -w /etc/ld.so.cache ]; then
	ldconfig
else
	echo "hint: sudo ldconfig"
fi
