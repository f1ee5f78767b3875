import Dispatch
import Foundation
import MediaCLI

@main
enum Main {
    // Not `async`: the main queue of an asynchronous `main` opens descriptors before the first statement.
    static func main() {
        Program.prepareProcess()
        // A thread pool that cannot grow would wait forever.
        if let code = Program.refuseTooFewResources() { _exit(code) }
        Task {
            let code = await Program.run()
            fflush(nil)
            // Not `exit`: its handlers, including OpenSSL's, free memory that running threads still use.
            _exit(code)
        }
        dispatchMain()
    }
}
