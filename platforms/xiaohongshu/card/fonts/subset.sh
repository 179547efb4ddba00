#!/bin/sh
# Makes NotoSansSC-Regular.otf out of Debian's fonts-noto-cjk.
set -eu
cd "$(dirname "$0")"
python3 - > unicodes.txt <<'PY'
def in_gbk(c):
    try:
        return bool(chr(c).encode('gbk'))
    except UnicodeEncodeError:
        return False

blocks = [(0x20, 0x250), (0x370, 0x460), (0x2000, 0x27C0), (0x3000, 0x3100), (0x3200, 0x3400), (0xFE10, 0xFE70), (0xFF00, 0xFFF0)]
wanted = {c for first, end in blocks for c in range(first, end)} | {c for c in range(0x20, 0x10000) if in_gbk(c)}
print(','.join(f'{c:X}' for c in sorted(wanted)))
PY
# Face 2 of the collection, counted from 0, is that of SC.
pyftsubset /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc --font-number=2 --unicodes-file=unicodes.txt \
	--layout-features='' --no-hinting --drop-tables+=vhea,vmtx,VORG,GSUB,GPOS,BASE --output-file=NotoSansSC-Regular.otf
rm unicodes.txt
