import FuzzTargets
import Glibc

// The program's `main` is libFuzzer's, which calls the two functions below by their C names.

// Set once, by the first of the two functions, before libFuzzer starts on this one thread.
nonisolated(unsafe) private var target = FuzzTarget.all[0]

private let variable = "TANDEM_FUZZ_TARGET"

/// Removes the first argument, which names a target or a command.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> Int32 {
    let words = CommandLine.arguments
    // To merge corpora, libFuzzer starts the program again, with only its own arguments.
    if let name = getenv(variable).map({ String(cString: $0) }), let found = FuzzTarget.named(name)
    {
        target = found
        return 0
    }
    guard let name = words.dropFirst().first, let found = FuzzTarget.named(name) else {
        exit(Commands.run(Array(words.dropFirst())))
    }
    target = found
    setenv(variable, name, 1)
    arguments.pointee[1] = arguments.pointee[0]
    arguments.pointee += 1
    count.pointee -= 1
    return 0
}

/// Tries one input; a finding ends the program.
@_cdecl("LLVMFuzzerTestOneInput")
public func tryOut(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do {
        try target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        fatalError("\(target.name): \(error)")
    }
    return 0
}
