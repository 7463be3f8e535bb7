import ArgumentParser
import Tandem

/// `tandem reload`: makes a daemon reload its configuration.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Lets the daemon read its configuration again.",
        discussion: """
            For admins. Roles and limits count from then on; other keys wait for a restart. Prints both, and so does \
            the daemon's log. A configuration that is wrong changes nothing: exits with 2 and says why.
            """)

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let (changed, needsRestart) = try global.container().reloadConfiguration()
        for key in changed { printLine("\(key) has another value now") }
        for key in needsRestart { printLine("\(key) has another value after a restart") }
        if changed.isEmpty, needsRestart.isEmpty { printLine("nothing has changed") }
    }
}
