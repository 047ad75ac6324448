#include "base/build_info.h"

const char build_commit[] = FGPU_GIT_COMMIT;
const char build_date[] = FGPU_DATE;
