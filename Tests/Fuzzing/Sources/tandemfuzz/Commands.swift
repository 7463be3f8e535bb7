import FoundationEssentials
import FuzzTargets

/// The commands that run.sh needs besides fuzzing: `list`, `unpack TARGET FILE FOLDER` and
/// `pack FOLDER FILE`.
enum Commands {
    /// Carries out a command and returns the exit code.
    static func run(_ words: [String]) -> Int32 {
        do {
            switch (words.first, words.count) {
            case ("list", 1): print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
            case ("unpack", 4): try unpack(words[1], words[2], words[3])
            case ("pack", 3): try pack(words[1], words[2])
            default:
                print("tandemfuzz TARGET … | list | unpack TARGET FILE FOLDER | pack FOLDER FILE")
                return 2
            }
            return 0
        } catch {
            print("\(error)")
            return 1
        }
    }

    /// Writes a corpus and the target's own seeds as files, in the form that libFuzzer expects.
    private static func unpack(_ name: String, _ file: String, _ folder: String) throws {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        let seeds = FuzzTarget.named(name)?.seeds() ?? []
        for (index, input) in (Corpus.inputs(of: text) + seeds).enumerated() {
            try Data(input).write(to: URL(filePath: "\(folder)/\(index)"))
        }
    }

    private static func pack(_ folder: String, _ file: String) throws {
        let inputs = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            Array(try Data(contentsOf: URL(filePath: "\(folder)/\($0)")))
        }
        try Corpus.text(of: inputs).write(toFile: file, atomically: true, encoding: .utf8)
    }
}
