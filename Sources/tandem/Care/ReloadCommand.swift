import ArgumentParser
import Tandem

/// `tandem reload`: makes a daemon reload its configuration.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Lets the daemon read its configuration again.",
        discussion: """
            For admins. Roles and limits count from then on; other keys wait for a restart, and the daemon's log \
            names them. A configuration that is wrong changes nothing: exits with 2 and says why.
            """)

    @OptionGroup var global: GlobalOptions

    func run() throws { try global.container().reloadConfiguration() }
}
