import Foundation
import TandemIO
import TandemModel
import TestSupport
import Testing

/// The manual pages, which name all verbs, options and settings of the programs.
@Suite(.ownThread) struct ManualTests {
    private func help(_ program: String) throws -> JSON {
        let run = try CommandRun(program, ["--experimental-dump-help"])
        try run.check()
        return try #require(try JSON(parsing: run.output)["command"])
    }

    private func page(_ program: String, _ section: Int) throws -> String {
        let bin = DaemonProcess.products
        let run = try CommandRun(
            shell: "'\(bin)/\(program)' --experimental-dump-help | "
                + "'\(bin)/tandem' manual --section \(section) --see 'other(7)'")
        try run.check()
        return run.output
    }

    /// Returns the spellings of all displayed arguments and verbs of a command, including nested
    /// ones.
    private func spellings(_ command: JSON) -> [String] {
        var found = shown(command["arguments"]).flatMap(names)
        for verb in shown(command["subcommands"]) {
            guard let name = verb["commandName"]?.string, name != "help" else { continue }
            found.append(name)
            found += spellings(verb)
        }
        return found
    }

    private func shown(_ list: JSON?) -> [JSON] {
        (list?.array ?? []).filter { $0["shouldDisplay"] != .bool(false) }
    }

    private func names(_ argument: JSON) -> [String] {
        (argument["names"]?.array ?? []).map { (name: JSON) -> String in
            let dashes = name["kind"]?.string == "long" ? "--" : "-"
            return dashes + (name["name"]?.string ?? "?")
        }
    }

    @Test(arguments: [("tandem", 1), ("tandemd", 8)])
    func `a page has every verb and option, and no text that is taken for a macro`(
        _ program: String, _ section: Int
    ) throws {
        let page = try page(program, section)
        let plain = page.replacingOccurrences(of: "\\-", with: "-")
        let spellings = spellings(try help(program))
        #expect(spellings.count > 8)
        for spelling in spellings { #expect(plain.contains(spelling), "\(spelling) of \(program)") }
        let macros: Set<Substring> = [".TH", ".SH", ".SS", ".PP", ".TP"]
        for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(macros.contains(line.prefix { $0 != " " }), "\(line)")
        }
        for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"] {
            #expect(page.contains(".SH \"\(title)\"\n"))
        }
        #expect(!plain.contains("--segment-kibibytes"), "a hidden flag")
    }

    @Test func `the daemon's page has every key of the configuration`() throws {
        let plain = try page("tandemd", 8).replacingOccurrences(of: "\\-", with: "-")
        let check = try CommandRun(
            "tandemd", ["--check-config", "--store", "/store", "--socket", "/socket"])
        try check.check()
        let keys = check.lines.compactMap { $0.split(separator: " ").first }
        #expect(keys.count > 30)
        for key in keys { #expect(plain.contains(".TP\n\\fB\(key)\\fR\n"), "\(key)") }
    }

    @Test(.enabled(if: isInstalled("groff"), "groff is not installed"))
    func `groff prints no warnings about the pages`() throws {
        let place = try Place()
        for (program, section) in [("tandem", 1), ("tandemd", 8)] {
            let file = place.path + "/\(program).\(section)"
            try Data(try page(program, section).utf8).write(to: URL(fileURLWithPath: file))
            let run = try CommandRun(shell: "groff -man -Tutf8 -ww -z '\(file)'")
            #expect(run.code == 0 && run.output == "", "\(run.output)")
        }
    }

    @Test func `input that does not describe a program is refused`() throws {
        let tandem = DaemonProcess.products + "/tandem"
        let run = try CommandRun(shell: "echo nonsense | '\(tandem)' manual")
        #expect(run.code == 2 && run.output.contains("--experimental-dump-help"))
    }
}
