import TandemIO

/// The default paths of a daemon with a name.
public struct DaemonPaths: Hashable, Sendable {
    /// The directory of store and journal.
    public var store: String
    /// The path of the socket.
    public var socket: String
    /// The path of the configuration file, which may be missing.
    public var configuration: String

    /// Creates system-wide paths for root and for processes without XDG_RUNTIME_DIR, such as system
    /// services; otherwise paths in the user's directories.
    public init(name: String) {
        let runtime = ThisProcess.environment("XDG_RUNTIME_DIR")
        guard ThisProcess.effectiveUserID != 0, let runtime else {
            store = "/var/lib/tandem/\(name)"
            socket = "/run/tandem/\(name).sock"
            configuration = "/etc/tandem/\(name).yaml"
            return
        }
        let home = ThisProcess.environment("HOME") ?? "/"
        let state = ThisProcess.environment("XDG_STATE_HOME") ?? home + "/.local/state"
        store = "\(state)/tandem/\(name)"
        socket = "\(runtime)/tandem/\(name).sock"
        let settings = ThisProcess.environment("XDG_CONFIG_HOME") ?? home + "/.config"
        configuration = "\(settings)/tandem/\(name).yaml"
    }
}
