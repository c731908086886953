# Gives the folder "$1", a copy of this project, a node_modules of its own. Its packages are links to those installed
# here, but the workspaces are the copy's, and so is what programs write: npm's links in .bin, and the caches.
mkdir "$1/node_modules" && ln -s "$PWD"/node_modules/* "$1/node_modules" &&
  find node_modules -maxdepth 1 -type l -exec cp -Pf {} "$1/node_modules" \; &&
  cp -RP node_modules/.bin node_modules/.package-lock.json "$1/node_modules" || exit
# Node's compile cache saves each program half a second. Node replaces its files instead of changing them, so hard links
# will do; while other programs add to the cache, some of its files may vanish.
cp -Rl node_modules/.cache "$1/node_modules" 2> /dev/null || :
