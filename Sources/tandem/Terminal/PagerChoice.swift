import TandemIO

/// Which pager is used, as journalctl chooses it.
enum PagerChoice {
    /// The line for the shell: `TANDEM_PAGER`, else `PAGER`, else `less`; nil when one of them is empty or `cat`.
    static func command(toEnd: Bool) -> String? {
        let named = ThisProcess.environment("TANDEM_PAGER") ?? ThisProcess.environment("PAGER")
        if let named {
            return named.isEmpty || named == "cat" ? nil : "\(options(toEnd)) exec \(named)"
        }
        return "\(options(toEnd)) if command -v less >/dev/null; then exec less; "
            + "elif command -v more >/dev/null; then exec more; else exec cat; fi"
    }

    /// Quit at once if it fits, keep colours, chop long lines; others than less take no notice.
    private static func options(_ toEnd: Bool) -> String {
        "LESS=\"${LESS-FRSXMK}\(toEnd ? " +G" : "")\"; export LESS;"
    }
}
