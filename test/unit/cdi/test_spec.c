/* The names of CDI devices, and the file of ours. */
#include "cdi/spec.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include "base/compiler.h"
#include "base/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the CDI specification has it; seen to work with containerd 2.4.2. */
#define SPEC                                                                                                           \
    "{\"cdiVersion\":\"0.3.0\",\"kind\":\"fgpu.io/gpu\",\"devices\":[{\"name\":\"void\",\"containerEdits\":{"          \
    "\"env\":[\"NVIDIA_VISIBLE_DEVICES=void\"]}}]}\n"

static void cdi_spec_format__gives__one_device_that_hides_gpus(void **state)
{
    struct strbuf b;

    strbuf_init(&b, 4096);
    cdi_spec_format(&b);
    assert_string_equal(b.p, SPEC);
    strbuf_fini(&b);
}

static void cdi_gpu_name__of_a_uuid__is_nvidias(void **state)
{
    struct arena a;

    arena_init(&a, 100);
    assert_true(str_eq(cdi_gpu_name(&a, STR("MIG-1")), STR("nvidia.com/gpu=MIG-1")));
    arena_fini(&a);
}

static void cdi_name__of_each_vendor__is_of_gpus_or_not(void **state)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = {{"nvidia.com/gpu=all", true},
                {"k8s.gpu.nvidia.com/claim=x", true},
                {"management.nvidia.com/gpu=all", true},
                {"k8s.compute-domain.nvidia.com/claim=x", false},
                {"compute-domain.nvidia.com/channel=0", false},
                {"nvidia.com/imex-channel=0", false},
                {"not-compute-domain.nvidia.com/gpu=0", true},
                {"nvidia.com/gpu", true},
                {"nvidia.com", false},
                {"evilnvidia.com/gpu=0", false},
                {"nvidia.com.evil/gpu=0", false},
                {"intel.com/gpu=nvidia.com/gpu", false},
                {"fgpu.io/gpu=void", false},
                {"/nvidia.com", false},
                {"", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (cdi_name_is_of_gpu_vendor(str_of(rows[i].name)) != rows[i].is) {
            fail_msg("%s", rows[i].name);
        }
    }
}

static size_t count_files(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    closedir(d);
    return n;
}

static void cdi_spec_write__over_an_old_file__replaces_it_whole(void **state)
{
    struct temp_dir dir;
    struct strbuf text;
    char path[256];
    struct stat st;

    temp_dir_init(&dir);
    temp_dir_write(&dir, CDI_SPEC_FILE, "an older one, which is much longer than that of today");
    temp_dir_write(&dir, CDI_SPEC_FILE ".new", "left behind by one that was killed");
    temp_dir_path(&dir, CDI_SPEC_FILE, path, sizeof(path));
    assert_int_equal(cdi_spec_write(dir.path, NULL), 0);
    assert_int_equal(cdi_spec_write(dir.path, NULL), 0);
    strbuf_init(&text, 4096);
    assert_int_equal(file_read(path, &text, NULL), 0);
    assert_string_equal(text.p, SPEC);
    strbuf_fini(&text);
    assert_int_equal(count_files(dir.path), 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    temp_dir_fini(&dir);
}

static void cdi_spec_is_there__removed_or_damaged__is_not(void **state)
{
    struct temp_dir dir;

    temp_dir_init(&dir);
    assert_false(cdi_spec_is_there(dir.path));
    assert_int_equal(cdi_spec_write(dir.path, NULL), 0);
    assert_true(cdi_spec_is_there(dir.path));
    temp_dir_write(&dir, CDI_SPEC_FILE, "");
    assert_false(cdi_spec_is_there(dir.path));
    assert_int_equal(cdi_spec_write(dir.path, NULL), 0);
    assert_true(cdi_spec_is_there(dir.path));
    temp_dir_fini(&dir);
}

static void cdi_spec_write__where_it_cannot__says_where_and_what_to_do(void **state)
{
    struct temp_dir dir;
    char path[256], *deep = xmalloc(5000);
    struct err err;

    temp_dir_init(&dir);
    temp_dir_path(&dir, "none", path, sizeof(path));
    assert_int_equal(cdi_spec_write(path, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, path));
    assert_non_null(strstr(err.msg, "--cdi-dir"));
    memset(deep, 'x', 4999);
    deep[4999] = '\0';
    assert_int_equal(cdi_spec_write(deep, &err), -ERR_LIMIT);
    free(deep);
    /* A folder stands where the file should be: nothing is left behind. */
    temp_dir_path(&dir, CDI_SPEC_FILE, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(cdi_spec_write(dir.path, &err), -ERR_INTERNAL);
    assert_int_equal(count_files(dir.path), 1);
    assert_int_equal(rmdir(path), 0);
    temp_dir_fini(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cdi_spec_format__gives__one_device_that_hides_gpus),
        cmocka_unit_test(cdi_gpu_name__of_a_uuid__is_nvidias),
        cmocka_unit_test(cdi_name__of_each_vendor__is_of_gpus_or_not),
        cmocka_unit_test(cdi_spec_write__over_an_old_file__replaces_it_whole),
        cmocka_unit_test(cdi_spec_is_there__removed_or_damaged__is_not),
        cmocka_unit_test(cdi_spec_write__where_it_cannot__says_where_and_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
