import ArgumentParser
import Tandem

/// `tandem reload`: makes a daemon reload its configuration.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Make the daemon read its configuration again.",
        discussion: """
            Needs the role admin. Roles and limits change at once, other keys after a restart. The command and the \
            daemon's log list the changed keys of both kinds. An invalid configuration changes nothing; the exit \
            code is 2.
            """)

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let (changed, needsRestart) = try global.container().reloadConfiguration()
        for key in changed { printLine("\(key) was changed") }
        for key in needsRestart { printLine("\(key) changes after a restart") }
        if changed.isEmpty, needsRestart.isEmpty { printLine("nothing was changed") }
    }
}
