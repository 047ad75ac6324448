"""Known defects that are not put back, each with the reason. (number, reason)"""

LISTED = [
    # ---- their cause is not in fgpu: there is nothing to put it back into ----
    ("B8", "fgpu writes no lock anywhere, so none can outlive its holder; that a foreign one is not heeded: test_B8_second_bind_on_a_node__not_blocked_by_anything"),
    ("P6", "there is no lock of a node; no lock at all is held over a call of the API server: the binder's exchanges are answered by callbacks"),
    ("P17", "as B8: there is no lock that could be left behind"),
    ("P21", "nothing is written before the Binding (K4 puts back a Binding without its record); test_R30_node_and_devices_in_one_write_and_no_other"),
    # ---- races and amounts that no test shows for certain ----
    ("F21", "the two residuals that were taken for one changed decisions of whole replays, compared once by hand (decision 0023); no test has them"),
    ("F124", "a moment of microseconds; seen with a pause of two seconds in the code, not by a test"),
    ("F137", "calls that come while one thread is busy, in 6 of 35 tries; measured by hand"),
    ("F164", "the demonstration is not part of fgpu; that Ctrl-C ends it: test_page__in_a_terminal_with_a_display__is_opened_and_goes_on_until_ctrl_c, with a "
             "limit of a minute now; that a signal was lost was seen once in some hundred runs"),
    # ---- beside a real node, on a fresh cluster, or pages ----
    ("F57", "manifests: the name of a ConfigMap; TestInstallAndOneLine on a fresh cluster"),
    ("F58", "manifests: files for kube-scheduler 1.22; TestKubeScheduler122ReadsThePolicyFileAlone (scripts/test-minors 1.22)"),
    ("F72", "the image lacked libraries: TestInstallAndOneLine on a fresh cluster, scripts/check-image"),
    ("F73", "manifests: the tag and host of an image; TestInstallAndOneLine on a fresh cluster"),
    ("F97", "two functions of one name in two libraries: no patch of a function, and found by scripts/check-unused-symbols, which has tests of its own "
            "(test/unit/scripts)"),
    ("P23", "manifests: fgpu's own pod asks for no GPU, so that no scheduler asks fgpu about it; TestInstallAndOneLine on a fresh cluster"),
    ("P25", "a page: the certificates of callers come of an authority of their own (manifests/mtls/certificates.sh); scripts/check-pages runs the pages"),
]
