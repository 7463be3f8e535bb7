import TandemIO

/// Chooses the pager, as journalctl does.
enum PagerChoice {
    /// Returns the shell command of the pager: `TANDEM_PAGER`, else `PAGER`, else `less`.
    ///
    /// Returns nil if the first of these variables that is set is empty or `cat`.
    static func command(toEnd: Bool) -> String? {
        let named = ThisProcess.environment("TANDEM_PAGER") ?? ThisProcess.environment("PAGER")
        if let named {
            return named.isEmpty || named == "cat" ? nil : "\(options(toEnd)) exec \(named)"
        }
        return "\(options(toEnd)) if command -v less >/dev/null; then exec less; "
            + "elif command -v more >/dev/null; then exec more; else exec cat; fi"
    }

    /// Returns the assignment of options for less: quit if the output fits, keep colours, chop long
    /// lines; other pagers ignore them.
    private static func options(_ toEnd: Bool) -> String {
        "LESS=\"${LESS-FRSXMK}\(toEnd ? " +G" : "")\"; export LESS;"
    }
}
