import ArgumentParser
import TandemIO

/// The value of `--color`.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never

    /// Returns whether output to a descriptor is coloured.
    ///
    /// With `auto`, that is the case if the descriptor is a terminal other than `dumb`, and if
    /// `NO_COLOR` is unset or empty.
    func isOn(_ descriptor: Int32) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let isRefused = ThisProcess.environment("NO_COLOR").map { !$0.isEmpty } ?? false
            return !isRefused && ThisProcess.isTerminal(descriptor)
                && ThisProcess.environment("TERM") != "dumb"
        }
    }
}

/// Colours text for a terminal, or leaves it unchanged.
struct Style {
    /// Whether output is coloured.
    var isOn = false

    /// The kinds of text that have a colour.
    enum Role: String {
        case position = "2"
        case name = "1"
        case insert = "32"
        case delete = "31"
        case update = "33"
        case touch = "36"
    }

    /// Returns a string with escaped control characters, coloured if ``isOn``.
    func paint(_ text: String, _ role: Role) -> String {
        let text = text.printable
        return isOn ? "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m" : text
    }
}
