import Glibc
import Tandem

// Usage: MainLoops poll|glib SOCKET
//
// Lists the items of a store in a main loop that is not part of Swift's runtime. Lines of standard
// input are commands, as clicks in a window would be: `add NAME` saves with a blocking call, `later
// NAME` with an awaited one, and `quit` ends the program.
let arguments = CommandLine.arguments
guard arguments.count == 3, let loop = LoopKind(rawValue: arguments[1]) else {
    show("usage: MainLoops poll|glib SOCKET")
    exit(2)
}
do {
    let container = try PersistentContainer.open(
        entities: [Item.self], socket: arguments[2], author: "mainloops")
    try LoopActor.assumeIsolated {
        let window = Window(container)
        Window.shared = window
        try window.open()
    }
    try loop.run()
} catch {
    show("error: \(error)")
    exit(1)
}
