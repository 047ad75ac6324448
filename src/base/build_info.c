#include "base/build_info.h"

const char build_commit[] = FGPU_GIT_COMMIT;
