// Groups of cases in files of their own.
#pragma once

void unreliable_cases(void);
void shared_cases(void);
void event_cases(void);
void object_cases(void);
void domain_cases(void);
void window_cases(void);
void memory_cases(void);
void allocator_cases(void);
