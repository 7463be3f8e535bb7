import TandemIO

/// The choice of the pager, as in journalctl.
enum PagerChoice {
    /// Returns the shell command: `TANDEM_PAGER`, else `PAGER`, else `less`.
    ///
    /// Returns nil if the variable that takes effect is empty or `cat`.
    static func command(toEnd: Bool) -> String? {
        let named = ThisProcess.environment("TANDEM_PAGER") ?? ThisProcess.environment("PAGER")
        if let named {
            return named.isEmpty || named == "cat" ? nil : "\(options(toEnd)) exec \(named)"
        }
        return "\(options(toEnd)) if command -v less >/dev/null; then exec less; "
            + "elif command -v more >/dev/null; then exec more; else exec cat; fi"
    }

    /// Returns options for less, which other pagers ignore: quit if it fits, keep colours, chop
    /// long lines.
    private static func options(_ toEnd: Bool) -> String {
        "LESS=\"${LESS-FRSXMK}\(toEnd ? " +G" : "")\"; export LESS;"
    }
}
