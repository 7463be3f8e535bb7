import ArgumentParser
import Tandem
import TandemIO

/// `tandem config`: prints a daemon's settings and their origins.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show the configuration of the daemon or of a file.",
        discussion: """
            Prints each key with its value and its origin: a flag, a variable or a line of a file. --file prints the \
            configuration that a daemon would use in this environment, as `tandemd --check-config --config FILE` does, \
            and exits with 2 if the daemon could not start.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "A prefix of keys, such as `journal` or `limits.connections`.")
    var key: String?

    @Option(help: "A configuration file to read instead of asking the daemon.")
    var file: String?

    @Flag(help: "Show only keys that are set.")
    var changed = false

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func run() throws {
        let all = try file.map(ConfiguredKey.read) ?? ConfiguredKey.of(try DaemonStatus(global))
        let named = all.filter { item in key.map { item.key.hasPrefix($0) } ?? true }
        if let key, named.isEmpty {
            throw CommandFailure("no key begins with `\(key)`; see `tandem config`", code: 2)
        }
        for item in named where !changed || item.origin != "default" {
            printLine(output == .json ? item.json.text : item.line)
        }
    }
}

/// A key of a daemon's configuration, its value, and where it was set.
struct ConfiguredKey: Equatable {
    var key: String
    var value: String
    var origin: String

    /// The setting as a line, in the format of `tandemd --check-config`.
    var line: String { "\(key) = \(value.isEmpty ? "-" : value)  # \(origin)" }

    /// The setting as a JSON object, printed on one line.
    var json: JSON {
        .object(["key": .string(key), "value": .string(value), "origin": .string(origin)])
    }

    init(key: String, value: String, origin: String) {
        self.key = key
        self.value = value
        self.origin = origin
    }

    /// Parses the format of ``line``; returns nil for any other line.
    init?(_ line: String) {
        guard let equals = line.firstRange(of: " = "),
            let hash = line.ranges(of: "  # ").last, equals.upperBound <= hash.lowerBound
        else { return nil }
        let value = String(line[equals.upperBound..<hash.lowerBound])
        self.init(
            key: String(line[..<equals.lowerBound]), value: value == "-" ? "" : value,
            origin: String(line[hash.upperBound...]))
    }

    /// Returns the configuration in a daemon's status.
    static func of(_ status: DaemonStatus) throws -> [ConfiguredKey] {
        guard let keys = status.json["configuration"]?.array else {
            throw CommandFailure(
                "this daemon does not report its configuration; run `tandemd --check-config`")
        }
        return keys.map { item in
            func text(_ name: String) -> String { item[name]?.string ?? "" }
            return ConfiguredKey(key: text("key"), value: text("value"), origin: text("origin"))
        }
    }

    /// Returns the configuration of a file, as read by the `tandemd` next to this executable.
    static func read(_ file: String) throws -> [ConfiguredKey] {
        let program = ThisProcess.sibling("tandemd")
        let lines: [String]
        let child: ChildProcess
        do {
            child = try ChildProcess.start(
                program, ["--check-config", "--config", file], output: .pipe)
            lines = try Self.lines(of: child)
        } catch {
            throw CommandFailure("\(error); --file needs the program tandemd next to tandem")
        }
        switch child.wait() {
        case .exited(0): return lines.compactMap(ConfiguredKey.init)
        case .exited(let code):
            throw CommandFailure("a daemon cannot start with the configuration \(file)", code: code)
        case .signalled(let signal):
            throw CommandFailure("\(program) was ended by signal \(signal)")
        }
    }

    private static func lines(of child: ChildProcess) throws(IOError) -> [String] {
        guard let output = child.output else { return [] }
        let input = StandardInput(descriptor: output)
        var lines: [String] = []
        while let line = try input.readLine() {
            lines.append(String(decoding: line, as: UTF8.self))
        }
        return lines
    }
}
