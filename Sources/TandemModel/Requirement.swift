/// Stops the program with a message if a condition is false because an app misuses the library.
///
/// Unlike `precondition`, it prints the message in optimized builds too. So does `fatalError`,
/// which replaces `preconditionFailure` for the same reason. Errors in Tandem itself are found with
/// `assert` and `precondition`.
@inlinable
@inline(__always)
package func require(
    _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String,
    file: StaticString = #fileID, line: UInt = #line
) {
    if !condition() { fatalError(message(), file: file, line: line) }
}
