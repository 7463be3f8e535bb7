import ArgumentParser
import TandemIO

/// When output is coloured.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never

    /// What it comes to for a descriptor: by itself only on a terminal, and not where `NO_COLOR` says something.
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

/// Colours of a terminal, or none.
struct Style {
    /// Whether anything is coloured.
    var isOn = false

    /// What there is to be told apart.
    enum Role: String {
        case place = "2"
        case name = "1"
        case insert = "32"
        case delete = "31"
        case update = "33"
        case touch = "36"
    }

    /// A text in a colour or without, with only what may reach a terminal.
    func paint(_ text: String, _ role: Role) -> String {
        let text = text.printable
        return isOn ? "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m" : text
    }
}
